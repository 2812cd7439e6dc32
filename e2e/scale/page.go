package scale

// Page makes the page of results, and its plots by file name, which the page looks for in the folder.
func Page(all []Result, folder string) (page string, figures map[string]string) { return "", nil }
