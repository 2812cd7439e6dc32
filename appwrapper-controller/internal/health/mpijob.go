package health

// mpiJob: the workers may be removed as soon as the launcher has finished, so that only the conditions tell.
func mpiJob(o object) Report {
	r := o.terminal("Succeeded", "Failed")
	r.Restarting, _ = o.condition("Restarting")
	return r
}
