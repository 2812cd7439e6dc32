{{- /* "true" if agents are added, otherwise empty. */}}
{{- define "holdfast.injects" -}}
{{- if and .Values.injection.enabled (or (not .Values.orchestrator) (default dict .Values.orchestrator).enabled) }}true{{ end }}
{{- end }}

{{- /* Arguments that configure what is added to the pods of JobSets with in-place restarts and without an agent. */}}
{{- define "holdfast.injectionArgs" -}}
{{- $i := .Values.injection -}}
- --inplace-store-address={{ default (include "holdfast.valkeyAddress" .) $i.storeAddress }}
{{- if include "holdfast.storeAuth" . }}
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
{{- if include "holdfast.storeTLS" . }}
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
