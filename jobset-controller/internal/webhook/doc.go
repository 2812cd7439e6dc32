// Package webhook refuses bad JobSets at admission, with the path of the field and the reason, and prepares the pods of JobSets
// that are placed exclusively.
package webhook

// +kubebuilder:webhookconfiguration:mutating=false,name=jobset-validating-webhook-configuration
// +kubebuilder:webhookconfiguration:mutating=true,name=jobset-mutating-webhook-configuration
