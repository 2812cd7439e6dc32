{{- define "holdfast.dashboards" -}}
{{- if .Values.metrics.dashboards.enabled }}
{{- $dashboards := .Values.metrics.dashboards }}
{{- /* See files/dashboards of this chart. */}}
{{- $files := (index .Subcharts "holdfast-library").Files }}
{{- range $path, $_ := $files.Glob "files/dashboards/*.json" }}
{{- $name := base $path | trimSuffix ".json" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "holdfast.fullname" $ | trunc 50 | trimSuffix "-" }}-{{ $name }}
  namespace: {{ default $.Release.Namespace $dashboards.namespace }}
  labels:
    {{- include "holdfast.labels" $ | nindent 4 }}
    {{- with $dashboards.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $dashboards.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
data:
  {{ base $path }}: |
{{ $files.Get $path | indent 4 }}
{{- end }}
{{- end }}
{{- end }}
