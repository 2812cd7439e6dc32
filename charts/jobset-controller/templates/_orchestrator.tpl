{{- /* The orchestrator container. */}}
{{- define "jobset-controller.orchestrator" -}}
{{- $o := .Values.orchestrator -}}
- name: orchestrator
  image: {{ include "holdfast.image" (dict "image" $o.image "value" "orchestrator.image" "context" .) }}
  imagePullPolicy: {{ $o.image.pullPolicy }}
  args:
    {{- include "holdfast.storeArgs" . | nindent 4 }}
    {{- if $o.elasticJobs }}
    - --elasticjobs
    {{- end }}
    - --leader-election-lease-duration={{ $o.leaseDuration }}
    - --health-probe-bind-address=:{{ $o.healthPort }}
    {{- if $o.metrics.enabled }}
    - --metrics-bind-address=:{{ $o.metrics.port }}
    {{- else }}
    - --metrics-bind-address=0
    {{- end }}
    - --kube-api-qps={{ $o.clientConnection.qps }}
    - --kube-api-burst={{ int $o.clientConnection.burst }}
    - --max-concurrent-reconciles={{ int $o.maxConcurrentReconciles }}
    - --zap-log-level={{ $o.logLevel }}
    {{- with $o.extraArgs }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  env:
    {{- include "holdfast.env" $o.extraEnv | trim | nindent 4 }}
  ports:
    - name: orch-health
      containerPort: {{ $o.healthPort }}
    {{- if $o.metrics.enabled }}
    - name: orch-metrics
      containerPort: {{ $o.metrics.port }}
    {{- end }}
  {{- include "holdfast.probes" "orch-health" | nindent 2 }}
  resources:
    {{- toYaml $o.resources | nindent 4 }}
  securityContext:
    {{- toYaml .Values.securityContext | nindent 4 }}
  {{- $password := include "holdfast.valkeyPasswordSecret" . }}
  {{- $tls := include "holdfast.storeTLS" . }}
  {{- if or $password $tls $o.extraVolumeMounts }}
  volumeMounts:
    {{- with trim (include "holdfast.storeMounts" .) }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with $o.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end }}
