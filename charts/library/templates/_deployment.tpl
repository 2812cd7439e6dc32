{{- /* The Deployment of a manager. Argument: {"context": ., "args": additional arguments, "containers", "volumes": additional ones of the pod,
"mounts": additional ones of the manager}. All except the context are YAML. */}}
{{- define "holdfast.deployment" -}}
{{- $more := . }}
{{- with .context }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "holdfast.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
spec:
  replicas: {{ int .Values.replicaCount }}
  {{- if not .Values.leaderElection.enabled }}
  strategy:
    type: Recreate # two managers without leader election must never run at once
  {{- else if .Values.hostNetwork }}
  strategy:
    rollingUpdate: {maxSurge: 0, maxUnavailable: 1} # a node has room for one pod, because the ports are the node's
  {{- end }}
  selector:
    matchLabels:
      {{- include "holdfast.selectorLabels" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "holdfast.labels" . | nindent 8 }}
        {{- with .Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        kubectl.kubernetes.io/default-container: manager
        {{- with .Values.config }}
        checksum/config: {{ toYaml . | sha256sum }} # read only at startup
        {{- end }}
        {{- with .Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- include "holdfast.pod" (dict "account" (include "holdfast.serviceAccountName" .) "context" .) | nindent 6 }}
      {{- if .Values.hostNetwork }}
      hostNetwork: true
      dnsPolicy: ClusterFirstWithHostNet
      {{- end }}
      containers:
        - name: manager
          image: {{ include "holdfast.image" (dict "image" .Values.image "value" "image" "context" .) }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          args:
            {{- include "holdfast.managerArgs" . | nindent 12 }}
            {{- with trim $more.args }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- with .Values.extraArgs }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          env:
            {{- include "holdfast.env" .Values.extraEnv | trim | nindent 12 }}
          ports:
            {{- include "holdfast.managerPorts" . | nindent 12 }}
          {{- include "holdfast.probes" "health" | nindent 10 }}
          resources:
            {{- toYaml .Values.resources | nindent 12 }}
          securityContext:
            {{- toYaml .Values.securityContext | nindent 12 }}
          {{- $webhook := and .Values.webhook (default dict .Values.webhook).enabled }}
          {{- $mounts := trim (default "" $more.mounts) }}
          {{- if or .Values.config $webhook .Values.extraVolumeMounts $mounts }}
          volumeMounts:
            {{- if .Values.config }}
            - name: config
              mountPath: /etc/{{ .Chart.Name }}
              readOnly: true
            {{- end }}
            {{- if $webhook }}
            {{- include "holdfast.certificateMount" . | nindent 12 }}
            {{- end }}
            {{- with $mounts }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- with .Values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- end }}
        {{- with trim $more.containers }}
        {{- . | nindent 8 }}
        {{- end }}
      {{- if or .Values.config $webhook .Values.extraVolumes (trim $more.volumes) }}
      volumes:
        {{- if $webhook }}
        {{- include "holdfast.certificateVolume" . | nindent 8 }}
        {{- end }}
        {{- if .Values.config }}
        - name: config
          configMap:
            name: {{ include "holdfast.fullname" . }}
        {{- end }}
        {{- with trim $more.volumes }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with .Values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- with trim (include "holdfast.placement" (dict "component" "manager" "replicas" .Values.replicaCount "context" .)) }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- with .Values.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
{{- end }}

{{- /* The manager's configuration file. */}}
{{- define "holdfast.config" -}}
{{- with .Values.config }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "holdfast.fullname" $ }}
  namespace: {{ $.Release.Namespace }}
  labels:
    {{- include "holdfast.labels" $ | nindent 4 }}
data:
  config.yaml: |
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}
