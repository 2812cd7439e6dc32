{{- /* The orchestrator expects names with this prefix. */}}
{{- define "holdfast-inplace.webhookName" -}}
holdfast-inplace
{{- end }}

{{- /* Invalid combinations of values. Each message says what to do. */}}
{{- define "holdfast-inplace.validate" -}}
{{- $v := .Values }}
{{- include "holdfast.validate" . }}
{{- if not $v.webhook.enabled }}
{{- fail "webhook.enabled: false is not supported, because the webhook adds the agents" }}
{{- end }}
{{- if not $v.leaderElection.enabled }}
{{- fail "leaderElection.enabled: false is not supported, because the store identifies the leader by its Lease" }}
{{- end }}
{{- if and (not $v.valkey.enabled) (not $v.valkey.address) }}
{{- fail "valkey.enabled: set it, or set valkey.address to an existing store" }}
{{- end }}
{{- if lt (toDate "2006-01-02Z07:00" "1970-01-01Z" | dateModify $v.injection.exitWithoutStoreAfter | unixEpoch | int) 60 }}
{{- fail "injection.exitWithoutStoreAfter: set 60s or longer, a supervisor that waits for its peers may not read the store for 30s" }}
{{- end }}
{{- include "holdfast.validateStore" . }}
{{- include "holdfast.validateWebhook" . }}
{{- end }}

{{- /* Arguments in addition to the arguments that all managers share. */}}
{{- define "holdfast-inplace.args" -}}
- --leader-election-lease-duration={{ .Values.leaderElection.leaseDuration }}
{{ include "holdfast.storeArgs" . | trim }}
{{ include "holdfast.injectionArgs" . | trim }}
- --inplace-exit-without-store-after={{ .Values.injection.exitWithoutStoreAfter }}
{{- end }}
