{{- define "holdfast.storeNetworkPolicy" -}}
{{- if .Values.valkey.enabled }}
---
# Ingress to the store, from the orchestrators and from pods of JobSets in all namespaces, and of ElasticJobs if orchestrator.elasticJobs is set.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "holdfast.valkeyName" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.valkeyLabels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "holdfast.valkeySelectorLabels" . | nindent 6 }}
  policyTypes:
    - Ingress
    - Egress
  egress: []
  ingress:
    - ports:
        - port: {{ int .Values.valkey.port }}
      from:
        - podSelector:
            matchLabels:
              {{- include "holdfast.selectorLabels" . | nindent 14 }}
        - namespaceSelector: {}
          podSelector:
            matchExpressions:
              - key: jobset.sigs.k8s.io/jobset-name
                operator: Exists
        {{- if eq .Chart.Name "holdfast-inplace" }}
        - namespaceSelector: {}
          podSelector:
            matchExpressions:
              - key: holdfast.dev/group-kind
                operator: Exists
        {{- end }}
        {{- if (default dict .Values.orchestrator).elasticJobs }}
        - namespaceSelector: {}
          podSelector:
            matchLabels:
              group-name: elastic.pytorch.org
        {{- end }}
        {{- with .Values.networkPolicy.storeFrom }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end }}
{{- end }}
