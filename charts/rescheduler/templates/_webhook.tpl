{{- /* The manager expects names with this prefix. */}}
{{- define "rescheduler.webhookName" -}}
rescheduler
{{- end }}

{{- /* Pods for which the webhook is not called: pods that no controller replaces, and pods that already have a node. */}}
{{- define "rescheduler.podConditions" -}}
- name: has-a-controller
  expression: has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(r, has(r.controller) && r.controller && r.kind != 'DaemonSet' && r.kind != 'Node')
- name: has-no-node
  expression: "!has(object.spec.nodeName) || object.spec.nodeName == ''"
{{- end }}
