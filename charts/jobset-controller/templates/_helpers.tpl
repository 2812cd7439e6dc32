{{- /* Invalid combinations of values. Each message says what to do. */}}
{{- define "jobset-controller.validate" -}}
{{- $v := .Values }}
{{- include "holdfast.validate" . }}
{{- if and $v.orchestrator.enabled (not $v.valkey.enabled) (not $v.valkey.address) }}
{{- fail "orchestrator.enabled: the orchestrator needs a store; set valkey.enabled, or set valkey.address to an existing store" }}
{{- end }}
{{- include "holdfast.validateStore" . }}
{{- if and (ne (include "holdfast.emptySecrets" .) "[]") (not $v.orchestrator.enabled) }}
{{- fail "valkey.enabled: the orchestrator creates the store's password and certificate; set orchestrator.enabled, or valkey.existingSecret and valkey.tls.existingSecret" }}
{{- end }}
{{- if and $v.criPolicy.namespaces (not $v.criPolicy.enabled) }}
{{- fail "criPolicy.namespaces: they have an effect only with criPolicy.enabled" }}
{{- end }}
{{- include "holdfast.validateWebhook" . }}
{{- end }}
