{{- /* Alerts; the argument: {"context": ., "without": names of alerts that would mean nothing}. */}}
{{- define "holdfast.prometheusRule" -}}
{{- with .context }}
{{- if .Values.metrics.prometheusRule.enabled }}
{{- $values := .Values.metrics.prometheusRule }}
{{- /* The rules are generated: files/rules. Each has a page in docs/runbooks. */}}
{{- $group := first (.Files.Get "files/rules/alerts.yaml" | fromYaml).groups }}
{{- $names := list }}
{{- range $group.rules }}
{{- $names = append $names .alert }}
{{- end }}
{{- range $values.disabledAlerts }}
{{- if not (has . $names) }}
{{- fail (printf "metrics.prometheusRule.disabledAlerts: there is no alert %s" .) }}
{{- end }}
{{- end }}
{{- $left := concat $values.disabledAlerts (default list $.without) }}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: {{ include "holdfast.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
    {{- with $values.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  groups:
    - name: {{ $group.name }}
      rules:
        {{- range $group.rules }}
        {{- if not (has .alert $left) }}
        - {{ toYaml . | indent 10 | trim }}
        {{- end }}
        {{- end }}
{{- end }}
{{- end }}
{{- end }}
