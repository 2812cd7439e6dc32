package health

// job: a Job runs fewer pods at a time at the end of its work, and its failed ones stay.
func job(o object) Report {
	r := o.terminal("Complete", "Failed")
	parallelism := o.number(1, "spec", "parallelism")
	if completions := o.number(-1, "spec", "completions"); completions >= 0 {
		// Pods that have succeeded count as ready, hence towards what is wanted.
		r.Pods = count(min(parallelism, completions))
	}
	return r
}
