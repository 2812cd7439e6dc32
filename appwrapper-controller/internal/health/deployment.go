package health

// deployment may be scaled.
func deployment(o object) Report { return Report{Pods: count(o.number(1, "spec", "replicas"))} }
