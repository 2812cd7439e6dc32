{{- define "holdfast.valkeySelectorLabels" -}}
app.kubernetes.io/name: {{ include "holdfast.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: valkey
{{- end }}

{{- define "holdfast.valkeyLabels" -}}
{{ include "holdfast.valkeySelectorLabels" . }}
{{ include "holdfast.releaseLabels" . }}
{{- end }}

{{- /* The store address that pods use. */}}
{{- define "holdfast.valkeyAddress" -}}
{{- if .Values.valkey.enabled -}}
{{ .Values.valkey.serviceName }}.{{ .Release.Namespace }}.svc:{{ .Values.valkey.port }}
{{- else -}}
{{ .Values.valkey.address }}
{{- end }}
{{- end }}

{{- /* "true" if each JobSet has a store user, otherwise empty. The default is true for the chart's own store. */}}
{{- define "holdfast.storeAuth" -}}
{{- $on := .Values.valkey.auth.enabled }}
{{- if kindIs "invalid" $on }}{{ $on = .Values.valkey.enabled }}{{ end }}
{{- if $on }}true{{ end }}
{{- end }}

{{- define "holdfast.storeTLS" -}}
{{- $on := .Values.valkey.tls.enabled }}
{{- if kindIs "invalid" $on }}{{ $on = .Values.valkey.enabled }}{{ end }}
{{- if $on }}true{{ end }}
{{- end }}

{{- /* The revision label of a StatefulSet's pod consists of this name and up to 11 more characters. */}}
{{- define "holdfast.valkeyName" -}}
{{ printf "%s-valkey" (include "holdfast.fullname" . | trunc 45 | trimSuffix "-") }}
{{- end }}

{{- /* The orchestrator's store user, and the Secret with its password. Empty if there is no user. */}}
{{- define "holdfast.valkeyUser" -}}
{{- if and .Values.valkey.enabled (include "holdfast.storeAuth" .) -}}
holdfast-orchestrator
{{- else -}}
{{ .Values.valkey.username }}
{{- end }}
{{- end }}

{{- define "holdfast.valkeyPasswordSecret" -}}
{{- if .Values.valkey.existingSecret -}}
{{ .Values.valkey.existingSecret }}
{{- else if and .Values.valkey.enabled (include "holdfast.storeAuth" .) -}}
{{ include "holdfast.valkeyName" . }}-password
{{- end }}
{{- end }}

{{- define "holdfast.valkeyPasswordKey" -}}
{{- if .Values.valkey.existingSecret }}{{ .Values.valkey.existingSecretKey }}{{ else }}password{{ end }}
{{- end }}

{{- define "holdfast.valkeyTLSSecret" -}}
{{- default (printf "%s-tls" (include "holdfast.valkeyName" .)) .Values.valkey.tls.existingSecret }}
{{- end }}

{{- /* The Secrets that the chart renders empty and the orchestrator fills, except Secrets that the values provide. */}}
{{- define "holdfast.emptyPasswordSecret" -}}
{{- if and .Values.valkey.enabled (include "holdfast.storeAuth" .) (not .Values.valkey.existingSecret) -}}
{{ include "holdfast.valkeyPasswordSecret" . }}
{{- end }}
{{- end }}

{{- define "holdfast.emptyTLSSecret" -}}
{{- if and .Values.valkey.enabled (include "holdfast.storeTLS" .) (not .Values.valkey.tls.existingSecret) -}}
{{ include "holdfast.valkeyTLSSecret" . }}
{{- end }}
{{- end }}

{{- define "holdfast.emptySecrets" -}}
{{- list (include "holdfast.emptyPasswordSecret" .) (include "holdfast.emptyTLSSecret" .) | compact | toYaml }}
{{- end }}


{{- /* Invalid combinations of store values. Each message says what to do. */}}
{{- define "holdfast.validateStore" -}}
{{- $v := .Values }}
{{- if and $v.valkey.enabled $v.valkey.address }}
{{- fail "valkey.address: leave it empty with valkey.enabled, or the chart's own store would have no user" }}
{{- end }}
{{- if and $v.valkey.enabled $v.valkey.username }}
{{- fail "valkey.username: the chart's own store has only the default user" }}
{{- end }}
{{- if and $v.hostNetwork $v.networkPolicy.enabled $v.valkey.enabled (not $v.networkPolicy.storeFrom) }}
{{- fail "networkPolicy.storeFrom: with hostNetwork, add an ipBlock with the addresses of the nodes, or the orchestrator cannot reach the store" }}
{{- end }}
{{- $auth := include "holdfast.storeAuth" . }}
{{- if and $auth $v.valkey.address (not (and $v.valkey.username $v.valkey.existingSecret)) }}
{{- fail "valkey.auth.enabled: with an existing store, set valkey.username and valkey.existingSecret to a user that may manage users" }}
{{- end }}
{{- if and $auth (or $v.injection.storeUsername $v.injection.existingSecret) }}
{{- fail "injection.storeUsername, injection.existingSecret: with valkey.auth.enabled each JobSet has a user and a Secret of its own; leave them empty" }}
{{- end }}
{{- if and (not $auth) (ne $v.valkey.auth.defaultUser "off") }}
{{- fail "valkey.auth.defaultUser: it has an effect only with valkey.auth.enabled" }}
{{- end }}
{{- $tls := include "holdfast.storeTLS" . }}
{{- if and $tls $v.valkey.address (not $v.valkey.tls.existingSecret) }}
{{- fail "valkey.tls.existingSecret: set it to a Secret with ca.crt, against which the certificate of valkey.address is checked" }}
{{- end }}
{{- if and $tls (not $auth) (include "holdfast.injects" .) (not (default $v.valkey.existingSecret $v.injection.existingSecret)) }}
{{- fail "valkey.tls.enabled: without valkey.auth agents find ca.crt in injection.existingSecret, which is empty" }}
{{- end }}
{{- if and (not $tls) (or $v.valkey.tls.existingSecret $v.valkey.tls.serverName) }}
{{- fail "valkey.tls: existingSecret and serverName have an effect only with valkey.tls.enabled" }}
{{- end }}
{{- end }}
