{{- /* What the manager adds to the pods of JobSets that ask for in-place restarts and bring no agent. */}}
{{- define "jobset-controller.injectionArgs" -}}
{{- $i := .Values.injection -}}
- --inplace-store-address={{ default (include "jobset-controller.valkeyAddress" .) $i.storeAddress }}
{{- if include "jobset-controller.storeAuth" . }}
- --inplace-store-acl
{{- else }}
{{- with default .Values.valkey.username $i.storeUsername }}
- --inplace-store-username={{ . }}
{{- end }}
{{- with default .Values.valkey.existingSecret $i.existingSecret }}
- --inplace-store-secret={{ . }}
- --inplace-store-secret-key={{ default $.Values.valkey.existingSecretKey $i.existingSecretKey }}
{{- end }}
{{- end }}
{{- if include "jobset-controller.storeTLS" . }}
- --inplace-store-tls
{{- with .Values.valkey.tls.serverName }}
- --inplace-store-tls-server-name={{ . }}
{{- end }}
{{- end }}
- --inplace-exec-image={{ include "holdfast.image" (dict "image" $i.execImage "value" "injection.execImage" "context" .) }}
- --inplace-agent-image={{ include "holdfast.image" (dict "image" $i.agentImage "value" "injection.agentImage" "context" .) }}
{{- with include "holdfast.pullSecretNames" . }}
- --inplace-image-pull-secrets={{ . }}
{{- end }}
{{- end }}
