{{- /* Labels of the Kueue integration. */}}
{{- define "elastic-operator.kueueLabels" -}}
{{ include "elastic-operator.kueueSelectorLabels" . }}
{{ include "holdfast.releaseLabels" . }}
{{- end }}

{{- define "elastic-operator.kueueSelectorLabels" -}}
app.kubernetes.io/name: {{ include "holdfast.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: kueue
{{- end }}

{{- define "elastic-operator.kueueServiceAccountName" -}}
{{- printf "%s-kueue" (include "holdfast.fullname" .) }}
{{- end }}

{{- /* Invalid combinations of values. Each message says what to do. */}}
{{- define "elastic-operator.validate" -}}
{{- $v := .Values }}
{{- include "holdfast.validate" . }}
{{- if and $v.inPlace.enabled (not $v.inPlace.storeAddress) }}
{{- fail "inPlace.storeAddress: set it to the address where pods can reach the orchestrator's store" }}
{{- end }}
{{- if and $v.inPlace.enabled $v.inPlace.storeAuth (or $v.inPlace.storeUsername $v.inPlace.existingSecret) }}
{{- fail "inPlace.storeUsername, inPlace.existingSecret: with inPlace.storeAuth each ElasticJob has a user and a Secret of its own; leave them empty" }}
{{- end }}
{{- if and $v.inPlace.enabled $v.inPlace.storeTLS (not $v.inPlace.storeAuth) (not $v.inPlace.existingSecret) }}
{{- fail "inPlace.storeTLS: without inPlace.storeAuth supervisors find ca.crt in inPlace.existingSecret, which is empty" }}
{{- end }}
{{- end }}
