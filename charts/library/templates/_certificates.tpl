{{- define "holdfast.certificates" -}}
{{- if .Values.webhook.enabled }}
{{- $name := include "holdfast.certificate" . }}
{{- if eq .Values.certificates.mode "internal" }}
# The manager stores its certificate here. The chart renders no data, so that an upgrade does not erase it.
apiVersion: v1
kind: Secret
metadata:
  name: {{ include "holdfast.certificateSecret" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
{{- else if eq .Values.certificates.mode "certManager" }}
{{- $issuer := .Values.certManager.issuerRef }}
{{- if not $issuer.name }}
{{- $issuer = dict "kind" "Issuer" "name" $name }}
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
spec:
  selfSigned: {}
---
{{- end }}
{{- $host := printf "%s.%s.svc" (include "holdfast.webhookService" .) .Release.Namespace }}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
spec:
  secretName: {{ include "holdfast.certificateSecret" . }}
  dnsNames:
    - {{ $host }}
    - {{ $host }}.cluster.local
  issuerRef:
    {{- toYaml $issuer | nindent 4 }}
{{- end }}
{{- end }}
{{- end }}
