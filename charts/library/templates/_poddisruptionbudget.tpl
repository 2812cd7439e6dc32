{{- define "holdfast.podDisruptionBudget" -}}
{{- if .Values.podDisruptionBudget.enabled }}
{{- $budget := .Values.podDisruptionBudget }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "holdfast.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
spec:
  {{- if not (kindIs "invalid" $budget.minAvailable) }}
  minAvailable: {{ $budget.minAvailable }}
  {{- end }}
  {{- if not (kindIs "invalid" $budget.maxUnavailable) }}
  maxUnavailable: {{ $budget.maxUnavailable }}
  {{- end }}
  unhealthyPodEvictionPolicy: {{ $budget.unhealthyPodEvictionPolicy }}
  selector:
    matchLabels:
      {{- include "holdfast.selectorLabels" . | nindent 6 }}
{{- end }}
{{- end }}
