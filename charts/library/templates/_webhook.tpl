{{- /* A chart with a webhook defines <chart>.webhookName. The names of its Service, Secret and certificate begin with it, as the manager expects. */}}
{{- define "holdfast.webhookService" -}}
{{ include (printf "%s.webhookName" .Chart.Name) . }}-webhook-service
{{- end }}

{{- define "holdfast.certificateSecret" -}}
{{- if eq .Values.certificates.mode "existingSecret" }}
{{- .Values.certificates.existingSecret }}
{{- else -}}
{{ include (printf "%s.webhookName" .Chart.Name) . }}-webhook-server-cert
{{- end }}
{{- end }}

{{- define "holdfast.certificate" -}}
{{ include "holdfast.fullname" . | trunc 55 | trimSuffix "-" }}-webhook
{{- end }}

{{- define "holdfast.certificateFolder" -}}
/tmp/k8s-webhook-server/serving-certs
{{- end }}

{{- define "holdfast.certificateMount" -}}
- name: webhook-certificate
  mountPath: {{ include "holdfast.certificateFolder" . }}
  {{- if ne .Values.certificates.mode "internal" }}
  readOnly: true
  {{- end }}
{{- end }}

{{- define "holdfast.certificateVolume" -}}
- name: webhook-certificate
  {{- if eq .Values.certificates.mode "internal" }}
  emptyDir: # the manager fills it from the Secret; the kubelet would take up to two minutes
    medium: Memory
    sizeLimit: 1Mi
  {{- else }}
  secret:
    secretName: {{ include "holdfast.certificateSecret" . }}
  {{- end }}
{{- end }}

{{- /* The webhook validates what users write. Recoveries must not wait for it, and it must not prevent the deletion of invalid objects. */}}
{{- define "holdfast.webhookConditions" -}}
- name: not-by-the-release-itself
  expression: request.userInfo.username != 'system:serviceaccount:{{ .Release.Namespace }}:{{ include "holdfast.serviceAccountName" . }}'
- name: not-being-deleted
  expression: "!has(object.metadata.deletionTimestamp)"
{{- end }}

{{- define "holdfast.webhookServiceObject" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "holdfast.webhookService" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
spec:
  selector:
    {{- include "holdfast.selectorLabels" . | nindent 4 }}
  ports:
    - name: webhook
      port: 443
      targetPort: webhook
{{- end }}

{{- /* Invalid combinations of certificate values. */}}
{{- define "holdfast.validateWebhook" -}}
{{- $v := .Values }}
{{- if and $v.webhook.enabled $v.metrics.enabled (eq (int $v.webhook.port) (int $v.metrics.port)) }}
{{- fail "webhook.port: it must differ from metrics.port" }}
{{- end }}
{{- $existing := eq $v.certificates.mode "existingSecret" }}
{{- if and $existing (not (and $v.certificates.existingSecret $v.certificates.caBundle)) }}
{{- fail "certificates: mode existingSecret needs existingSecret, with tls.crt and tls.key, and caBundle, the CA bundle that the API server trusts" }}
{{- end }}
{{- if and (not $existing) (or $v.certificates.existingSecret $v.certificates.caBundle) }}
{{- fail "certificates: existingSecret and caBundle have an effect only with mode existingSecret" }}
{{- end }}
{{- if and $v.certManager.issuerRef.name (ne $v.certificates.mode "certManager") }}
{{- fail "certManager.issuerRef: it has an effect only with certificates.mode certManager" }}
{{- end }}
{{- end }}
