package inject

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Variables that agents read, as the manifest of seed 000 names them.
const (
	envJobSetUID     = "JOBSET_UID"
	envStoreAddress  = "VALKEY_ADDRESS"
	envStoreUsername = "VALKEY_USERNAME"
	envStorePassword = "VALKEY_PASSWORD_FILE"
	envStoreCA       = "VALKEY_TLS_CA_FILE"
	envStoreServer   = "VALKEY_TLS_SERVER_NAME"
	envStartupDir    = "STARTUP_DIR"
	envContainer     = "WORKER_CONTAINER_NAME"
	envReadyPort     = "READY_PORT"
)

// identity tells an agent whose worker it has.
func identity() []corev1.EnvVar {
	return []corev1.EnvVar{
		fromAnnotation(envJobSetUID, v1alpha2.JobSetUIDKey),
		fromAnnotation("JOBSET_NAME", v1alpha2.JobSetNameKey),
		fromAnnotation("REPLICATED_JOB_NAME", v1alpha2.ReplicatedJobNameKey),
		fromAnnotation("JOB_INDEX", v1alpha2.JobIndexKey),
		fromAnnotation("JOB_COMPLETION_INDEX", batchv1.JobCompletionIndexAnnotation),
		fromField("POD_UID", "metadata.uid"),
		fromAnnotation("HOLDFAST_POD_EPOCH", epoch.Annotation),
		fromField("HOLDFAST_POD_NAME", "metadata.name"),
		fromField("HOLDFAST_NODE_NAME", "spec.nodeName"),
	}
}

func fromAnnotation(name, key string) corev1.EnvVar {
	return fromField(name, "metadata.annotations['"+key+"']")
}

func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// environment of an agent.
func (s Settings) environment() []corev1.EnvVar {
	env := append(identity(),
		corev1.EnvVar{Name: envStoreAddress, Value: s.StoreAddress},
		corev1.EnvVar{Name: envStartupDir, Value: startupDir},
	)
	if s.StoreUsername != "" {
		env = append(env, corev1.EnvVar{Name: envStoreUsername, Value: s.StoreUsername})
	}
	if s.StoreSecret != "" {
		env = append(env, corev1.EnvVar{Name: envStorePassword, Value: credentialsDir + "/" + passwordFile})
	}
	if s.StoreTLS {
		env = append(env, corev1.EnvVar{Name: envStoreCA, Value: credentialsDir + "/" + inplace.SecretCA})
	}
	if s.StoreTLS && s.StoreServerName != "" {
		env = append(env, corev1.EnvVar{Name: envStoreServer, Value: s.StoreServerName})
	}
	return env
}

// reserved are the variables of the exec driver, which shares its container with the worker.
var reserved = append(identity(),
	corev1.EnvVar{Name: envStoreAddress}, corev1.EnvVar{Name: envStoreUsername}, corev1.EnvVar{Name: envStorePassword},
	corev1.EnvVar{Name: envStoreCA}, corev1.EnvVar{Name: envStoreServer}, corev1.EnvVar{Name: envStartupDir})

// sameSource tells whether a variable of the user's says what ours says. Each of the keys is a label as well.
func sameSource(have, ours corev1.EnvVar) bool {
	if ours.ValueFrom == nil || have.ValueFrom == nil || have.ValueFrom.FieldRef == nil {
		return false
	}
	path := have.ValueFrom.FieldRef.FieldPath
	return strings.Replace(path, "metadata.labels[", "metadata.annotations[", 1) == ours.ValueFrom.FieldRef.FieldPath
}

// withEnvironment adds the variables that are not there yet; rules have seen to it that those say the same.
func withEnvironment(have, add []corev1.EnvVar) []corev1.EnvVar {
	known := make(map[string]bool, len(have))
	for _, v := range have {
		known[v.Name] = true
	}
	for _, v := range add {
		if !known[v.Name] {
			have = append(have, v)
		}
	}
	return have
}
