package health

func jobSet(o object) Report {
	r := o.terminal("Completed", "Failed")
	r.Restarting, _ = o.condition("RestartingJobSet")
	if wanted, waits := jobSetPods(o); waits {
		r.Pods = count(wanted)
	}
	return r
}

// jobSetPods counts the pods of the stages that have begun, and tells whether there are others, which wait for those: by startupPolicy, or by
// dependsOn. A stage that waits has no pods, and nothing is wrong with that.
func jobSetPods(o object) (wanted int64, waits bool) {
	begun := map[string]bool{}
	for _, s := range o.list("status", "replicatedJobsStatus") {
		begun[s.text("name")] = s.number(0, "active")+s.number(0, "ready")+s.number(0, "succeeded")+s.number(0, "failed") > 0
	}
	inOrder := o.text("spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
	for i, entry := range o.list("spec", "replicatedJobs") {
		staged := inOrder && i > 0 || len(entry.list("dependsOn")) > 0
		if staged && !begun[entry.text("name")] {
			waits = true
			continue
		}
		parallelism := entry.number(1, "template", "spec", "parallelism")
		wanted += entry.number(1, "replicas") * min(parallelism, entry.number(parallelism, "template", "spec", "completions"))
	}
	return wanted, waits
}
