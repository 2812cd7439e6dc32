{{- /* The NetworkPolicy of a manager. Argument: {"context": ., "metricsPorts": numbers}. */}}
{{- define "holdfast.networkPolicy" -}}
{{- $metricsPorts := .metricsPorts }}
{{- with .context }}
# Ingress to the manager. The kubelet always has access. Egress is not restricted, because the address of the API server depends on the
# cluster.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "holdfast.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "holdfast.selectorLabels" . | nindent 6 }}
  policyTypes:
    - Ingress
  ingress:
    {{- with .Values.webhook }}
    {{- if .enabled }}
    - ports: # the API server, which often does not run in a pod
        - port: {{ int .port }}
    {{- end }}
    {{- end }}
    {{- if $metricsPorts }}
    - ports:
        {{- range $metricsPorts }}
        - port: {{ int . }}
        {{- end }}
      {{- with .Values.networkPolicy.metricsFrom }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
{{- end }}
{{- end }}
