package health

// pod: one that has failed is a failed pod, which is a matter of the pods, not of components.
func pod(o object) Report {
	if o.text("status", "phase") == "Succeeded" {
		return Report{State: Complete}
	}
	return Report{State: Active}
}
