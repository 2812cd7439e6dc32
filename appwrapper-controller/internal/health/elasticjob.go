package health

// elasticJob goes on with as few workers as its minimum.
func elasticJob(o object) Report {
	r := o.terminal("Succeeded", "Failed")
	r.Restarting, _ = o.condition("Restarting")
	if least := o.number(0, "spec", "minReplicas"); least > 0 {
		r.Pods = count(least)
	}
	return r
}
