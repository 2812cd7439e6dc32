package health

// rayCluster: its state "failed" passes, so it is not a failure. An autoscaler may want fewer workers than the groups have.
func rayCluster(o object) Report {
	if wanted := o.number(-1, "status", "desiredWorkerReplicas"); wanted >= 0 {
		const head = 1
		return Report{Pods: count(wanted + head)}
	}
	return Report{}
}
