// Package webhook completes AppWrappers at admission, and refuses bad ones with the path of the field and the reason.
package webhook

// +kubebuilder:webhookconfiguration:mutating=true,name=appwrapper-mutating-webhook-configuration
// +kubebuilder:webhookconfiguration:mutating=false,name=appwrapper-validating-webhook-configuration
