package health

// elasticJob goes on with as few workers as its minimum. A worker that was given up leaves a failed pod, for its logs.
func elasticJob(o object) Report {
	r := o.terminal("Succeeded", "Failed")
	r.Restarting, _ = o.condition("Restarting")
	r.GoesOn, _ = o.condition("Running")
	if least := o.number(0, "spec", "minReplicas"); least > 0 {
		r.Pods = count(least)
	}
	return r
}
