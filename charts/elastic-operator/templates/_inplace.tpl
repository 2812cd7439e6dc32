{{- /* Arguments of the operator, in addition to the arguments that all managers share. */}}
{{- define "elastic-operator.args" -}}
{{- if .Values.rendezvous.enabled }}
- --rendezvous-image={{ include "holdfast.image" (dict "image" .Values.rendezvous.image "value" "rendezvous.image" "context" .) }}
{{- end }}
{{- with include "holdfast.pullSecretNames" . }}
- --image-pull-secrets={{ . }}
{{- end }}
{{- if .Values.inPlace.enabled }}
{{ include "elastic-operator.inPlaceArgs" . }}
{{- end }}
{{- end }}

{{- /* Arguments that configure what the operator adds to the workers of ElasticJobs with in-place restarts. */}}
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
- --inplace-exec-image={{ include "holdfast.image" (dict "image" $i.execImage "value" "inPlace.execImage" "context" .) }}
{{- end }}
