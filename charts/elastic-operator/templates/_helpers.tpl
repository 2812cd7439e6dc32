{{- define "elastic-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "elastic-operator.fullname" -}}
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

{{- define "elastic-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "elastic-operator.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "elastic-operator.labels" -}}
{{ include "elastic-operator.selectorLabels" . }}
{{ include "elastic-operator.releaseLabels" . }}
{{- end }}

{{- define "elastic-operator.releaseLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: holdfast
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Labels of the integration with Kueue. */}}
{{- define "elastic-operator.kueueLabels" -}}
{{ include "elastic-operator.kueueSelectorLabels" . }}
{{ include "elastic-operator.releaseLabels" . }}
{{- end }}

{{- define "elastic-operator.kueueSelectorLabels" -}}
app.kubernetes.io/name: {{ include "elastic-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: kueue
{{- end }}

{{- define "elastic-operator.kueueServiceAccountName" -}}
{{- printf "%s-kueue" (include "elastic-operator.fullname" .) }}
{{- end }}

{{- define "elastic-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "elastic-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: manager
{{- end }}

{{- /* The reference of an image: {"image": ..., "context": .}. A digest wins over a tag. */}}
{{- define "elastic-operator.image" -}}
{{- $image := .image }}
{{- if $image.registry }}{{ $image.registry }}/{{ end }}{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ default .context.Chart.AppVersion $image.tag }}{{ end }}
{{- end }}

{{- /* Values that do not fit together, each with what to do about it. */}}
{{- define "elastic-operator.validate" -}}
{{- $v := .Values }}
{{- if and (gt (int $v.replicaCount) 1) (not $v.leaderElection.enabled) }}
{{- fail "replicaCount: more than one manager needs leaderElection.enabled" }}
{{- end }}
{{- if and $v.inPlace.enabled (not $v.inPlace.storeAddress) }}
{{- fail "inPlace.storeAddress: set it to the store of the orchestrator, as pods reach it" }}
{{- end }}
{{- if and $v.inPlace.enabled $v.inPlace.storeAuth (or $v.inPlace.storeUsername $v.inPlace.existingSecret) }}
{{- fail "inPlace.storeUsername, inPlace.existingSecret: with inPlace.storeAuth each ElasticJob has a user and a Secret of its own; leave them empty" }}
{{- end }}
{{- if and $v.inPlace.enabled $v.inPlace.storeTLS (not $v.inPlace.storeAuth) (not $v.inPlace.existingSecret) }}
{{- fail "inPlace.storeTLS: without inPlace.storeAuth supervisors find ca.crt in inPlace.existingSecret, which is empty" }}
{{- end }}
{{- if and $v.podDisruptionBudget.enabled (eq (kindIs "invalid" $v.podDisruptionBudget.minAvailable) (kindIs "invalid" $v.podDisruptionBudget.maxUnavailable)) }}
{{- fail "podDisruptionBudget: set exactly one of minAvailable and maxUnavailable, the other to null" }}
{{- end }}
{{- end }}
