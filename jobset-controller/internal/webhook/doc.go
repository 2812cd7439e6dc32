// Package webhook rejects invalid JobSets at admission, with the path of the field and the reason, and prepares the pods of
// exclusively placed JobSets.
package webhook

// +kubebuilder:webhookconfiguration:mutating=false,name=jobset-validating-webhook-configuration
// +kubebuilder:webhookconfiguration:mutating=true,name=jobset-mutating-webhook-configuration
