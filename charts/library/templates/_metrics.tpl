{{- /* The metrics Service and its ServiceMonitor. Argument: {"context": ., "ports": a list of {"name", "port", "secure"}}. */}}
{{- define "holdfast.metrics" -}}
{{- $ports := .ports }}
{{- with .context }}
{{- if $ports }}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "holdfast.fullname" . | trunc 55 | trimSuffix "-" }}-metrics
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
spec:
  clusterIP: None
  selector:
    {{- include "holdfast.selectorLabels" . | nindent 4 }}
  ports:
    {{- range $ports }}
    - name: {{ .name }}
      port: {{ .port }}
      targetPort: {{ .name }}
    {{- end }}
{{- if .Values.metrics.serviceMonitor.enabled }}
{{- $monitor := .Values.metrics.serviceMonitor }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "holdfast.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
    {{- with $monitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "holdfast.selectorLabels" . | nindent 6 }}
  endpoints:
    {{- range $ports }}
    - port: {{ .name }}
      interval: {{ $monitor.interval }}
      scrapeTimeout: {{ $monitor.scrapeTimeout }}
      {{- if .secure }}
      scheme: https
      bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
      tlsConfig:
        insecureSkipVerify: true # the certificate of the manager is self-signed
      {{- end }}
    {{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A manager's metrics ports, as YAML. */}}
{{- define "holdfast.metricsPorts" -}}
{{- if .Values.metrics.enabled }}
- {name: metrics, port: {{ .Values.metrics.port }}, secure: {{ .Values.metrics.secure }}}
{{- end }}
{{- end }}
