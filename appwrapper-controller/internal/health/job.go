package health

// job: a Job runs fewer pods at a time at the end of its work, and its failed ones stay. One with more completions than it runs at a
// time works in waves: its status tells how many pods are still to come.
func job(o object) Report {
	r := o.terminal("Complete", "Failed")
	r.Succeeded = *count(o.number(0, "status", "succeeded"))
	parallelism := o.number(1, "spec", "parallelism")
	completions := o.number(-1, "spec", "completions")
	if completions < 0 {
		return r
	}
	// Pods that have succeeded count as ready, hence towards what is wanted.
	r.Pods = count(min(parallelism, completions))
	r.Active = count(min(parallelism, completions-int64(r.Succeeded)))
	return r
}
