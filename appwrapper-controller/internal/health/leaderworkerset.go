package health

// leaderWorkerSet may be scaled. An update replaces its groups one by one.
func leaderWorkerSet(o object) Report {
	size := o.number(1, "spec", "leaderWorkerTemplate", "size")
	updating, _ := o.condition("UpdateInProgress")
	return Report{Pods: count(o.number(1, "spec", "replicas") * size), Restarting: updating}
}
