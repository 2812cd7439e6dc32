{{- /* What the operator adds to the workers of ElasticJobs that ask for restarts in place. */}}
{{- define "elastic-operator.inPlaceArgs" -}}
{{- $i := .Values.inPlace -}}
- --inplace-store-address={{ $i.storeAddress }}
{{- if $i.storeAuth }}
- --inplace-store-acl
{{- else }}
{{- with $i.storeUsername }}
- --inplace-store-username={{ . }}
{{- end }}
{{- with $i.existingSecret }}
- --inplace-store-secret={{ . }}
- --inplace-store-secret-key={{ $i.existingSecretKey }}
{{- end }}
{{- end }}
{{- if $i.storeTLS }}
- --inplace-store-tls
{{- with $i.storeTLSServerName }}
- --inplace-store-tls-server-name={{ . }}
{{- end }}
{{- end }}
- --inplace-exec-image={{ include "elastic-operator.image" (dict "image" $i.execImage "context" .) }}
{{- end }}
