{{- define "jobset-controller.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "jobset-controller.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "jobset-controller.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "jobset-controller.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "jobset-controller.labels" -}}
{{ include "jobset-controller.selectorLabels" . }}
{{ include "jobset-controller.releaseLabels" . }}
{{- end }}

{{- define "jobset-controller.releaseLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: holdfast
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "jobset-controller.selectorLabels" -}}
app.kubernetes.io/name: {{ include "jobset-controller.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: manager
{{- end }}

{{- define "jobset-controller.valkeySelectorLabels" -}}
app.kubernetes.io/name: {{ include "jobset-controller.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: valkey
{{- end }}

{{- define "jobset-controller.valkeyLabels" -}}
{{ include "jobset-controller.valkeySelectorLabels" . }}
{{ include "jobset-controller.releaseLabels" . }}
{{- end }}

{{- /* The reference of an image: {"image": ..., "context": .}. A digest wins over a tag. */}}
{{- define "jobset-controller.image" -}}
{{- $image := .image }}
{{- if $image.registry }}{{ $image.registry }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ default .context.Chart.AppVersion $image.tag }}{{ end }}
{{- end }}

{{- /* Where the store is, for pods of the cluster. */}}
{{- define "jobset-controller.valkeyAddress" -}}
{{- if .Values.valkey.enabled -}}
{{ .Values.valkey.serviceName }}.{{ .Release.Namespace }}.svc:{{ .Values.valkey.port }}
{{- else -}}
{{ .Values.valkey.address }}
{{- end }}
{{- end }}

{{- /* Whether each JobSet has a user of its own: "true" or nothing. Without a say it is as the store is the chart's. */}}
{{- define "jobset-controller.storeAuth" -}}
{{- $on := .Values.valkey.auth.enabled }}
{{- if kindIs "invalid" $on }}{{ $on = .Values.valkey.enabled }}{{ end }}
{{- if $on }}true{{ end }}
{{- end }}

{{- define "jobset-controller.storeTLS" -}}
{{- $on := .Values.valkey.tls.enabled }}
{{- if kindIs "invalid" $on }}{{ $on = .Values.valkey.enabled }}{{ end }}
{{- if $on }}true{{ end }}
{{- end }}

{{- define "jobset-controller.valkeyName" -}}
{{ printf "%s-valkey" (include "jobset-controller.fullname" . | trunc 56 | trimSuffix "-") }}
{{- end }}

{{- /* The orchestrator's user at the store, and the Secret with its password; nothing without one. */}}
{{- define "jobset-controller.valkeyUser" -}}
{{- if and .Values.valkey.enabled (include "jobset-controller.storeAuth" .) -}}
holdfast-orchestrator
{{- else -}}
{{ .Values.valkey.username }}
{{- end }}
{{- end }}

{{- define "jobset-controller.valkeyPasswordSecret" -}}
{{- if .Values.valkey.existingSecret -}}
{{ .Values.valkey.existingSecret }}
{{- else if and .Values.valkey.enabled (include "jobset-controller.storeAuth" .) -}}
{{ include "jobset-controller.valkeyName" . }}-password
{{- end }}
{{- end }}

{{- define "jobset-controller.valkeyPasswordKey" -}}
{{- if .Values.valkey.existingSecret }}{{ .Values.valkey.existingSecretKey }}{{ else }}password{{ end }}
{{- end }}

{{- define "jobset-controller.valkeyTLSSecret" -}}
{{- default (printf "%s-tls" (include "jobset-controller.valkeyName" .)) .Values.valkey.tls.existingSecret }}
{{- end }}

{{- /* Values that do not fit together, each with what to do about it. */}}
{{- define "jobset-controller.validate" -}}
{{- $v := .Values }}
{{- if and (gt (int $v.replicaCount) 1) (not $v.leaderElection.enabled) }}
{{- fail "replicaCount: more than one manager needs leaderElection.enabled" }}
{{- end }}
{{- if and $v.orchestrator.enabled (not $v.valkey.enabled) (not $v.valkey.address) }}
{{- fail "orchestrator.enabled: the orchestrator needs a store; set valkey.enabled, or valkey.address to one that is there" }}
{{- end }}
{{- if and $v.valkey.enabled $v.valkey.address }}
{{- fail "valkey.address: leave it empty with valkey.enabled, or the chart's own store would have no user" }}
{{- end }}
{{- if and $v.valkey.enabled $v.valkey.username }}
{{- fail "valkey.username: the chart's own store has the default user only" }}
{{- end }}
{{- $auth := include "jobset-controller.storeAuth" . }}
{{- if and $auth $v.valkey.address (not (and $v.valkey.username $v.valkey.existingSecret)) }}
{{- fail "valkey.auth.enabled: at a store that is there the orchestrator needs a user that may manage users: set valkey.username and valkey.existingSecret" }}
{{- end }}
{{- if and $auth (or $v.injection.storeUsername $v.injection.existingSecret) }}
{{- fail "injection.storeUsername, injection.existingSecret: with valkey.auth.enabled each JobSet has a user and a Secret of its own; leave them empty" }}
{{- end }}
{{- if and (not $auth) (ne $v.valkey.auth.defaultUser "off") }}
{{- fail "valkey.auth.defaultUser: it is for valkey.auth.enabled" }}
{{- end }}
{{- $tls := include "jobset-controller.storeTLS" . }}
{{- if and $tls $v.valkey.address (not $v.valkey.tls.existingSecret) }}
{{- fail "valkey.tls.existingSecret: set it to a Secret with ca.crt, which the certificate of valkey.address is checked against" }}
{{- end }}
{{- if and $tls (not $auth) $v.orchestrator.enabled $v.injection.enabled (not (default $v.valkey.existingSecret $v.injection.existingSecret)) }}
{{- fail "valkey.tls.enabled: without valkey.auth agents find ca.crt in injection.existingSecret, which is empty" }}
{{- end }}
{{- if and (not $tls) (or $v.valkey.tls.existingSecret $v.valkey.tls.serverName) }}
{{- fail "valkey.tls: existingSecret and serverName are for valkey.tls.enabled" }}
{{- end }}
{{- if and $v.criPolicy.namespaces (not $v.criPolicy.enabled) }}
{{- fail "criPolicy.namespaces: they are for criPolicy.enabled" }}
{{- end }}
{{- if and $v.webhook.enabled $v.metrics.enabled (eq (int $v.webhook.port) (int $v.metrics.port)) }}
{{- fail "webhook.port: it is that of metrics.port" }}
{{- end }}
{{- $existing := eq $v.certificates.mode "existingSecret" }}
{{- if and $existing (not (and $v.certificates.existingSecret $v.certificates.caBundle)) }}
{{- fail "certificates: mode existingSecret needs existingSecret, with tls.crt and tls.key, and caBundle, which the API server is to trust" }}
{{- end }}
{{- if and (not $existing) (or $v.certificates.existingSecret $v.certificates.caBundle) }}
{{- fail "certificates: existingSecret and caBundle are for mode existingSecret" }}
{{- end }}
{{- if and $v.certManager.issuerRef.name (ne $v.certificates.mode "certManager") }}
{{- fail "certManager.issuerRef: it is for certificates.mode certManager" }}
{{- end }}
{{- if and $v.podDisruptionBudget.enabled (eq (kindIs "invalid" $v.podDisruptionBudget.minAvailable) (kindIs "invalid" $v.podDisruptionBudget.maxUnavailable)) }}
{{- fail "podDisruptionBudget: set exactly one of minAvailable and maxUnavailable, the other to null" }}
{{- end }}
{{- end }}
