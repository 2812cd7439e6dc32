package health

func jobSet(o object) Report {
	r := o.terminal("Completed", "Failed")
	r.Restarting, _ = o.condition("RestartingJobSet")
	return r
}
