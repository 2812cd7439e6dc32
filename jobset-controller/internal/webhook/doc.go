// Package webhook refuses bad JobSets at admission, with the path of the field and the reason.
package webhook

// +kubebuilder:webhookconfiguration:mutating=false,name=jobset-validating-webhook-configuration
