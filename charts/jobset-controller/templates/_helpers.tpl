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
