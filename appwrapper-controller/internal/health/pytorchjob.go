package health

func pyTorchJob(o object) Report {
	r := o.terminal("Succeeded", "Failed")
	r.Restarting, _ = o.condition("Restarting")
	return r
}
