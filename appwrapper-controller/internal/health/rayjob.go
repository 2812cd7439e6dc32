package health

import "cmp"

// rayJob: the pods of the cluster run on after the job has finished, or are gone at once, as its specification says.
func rayJob(o object) Report {
	says := cmp.Or(o.text("status", "message"), o.text("status", "reason"), o.text("status", "jobStatus"))
	switch o.text("status", "jobDeploymentStatus") {
	case "Failed":
		return Report{State: Failed, Message: says}
	case "Complete":
		switch o.text("status", "jobStatus") {
		case "SUCCEEDED":
			return Report{State: Complete}
		case "FAILED", "STOPPED":
			return Report{State: Failed, Message: says}
		}
	case "Retrying":
		return Report{State: Active, Restarting: true}
	}
	return Report{State: Active}
}
