package health

// statefulSet may be scaled.
func statefulSet(o object) Report { return Report{Pods: count(o.number(1, "spec", "replicas"))} }
