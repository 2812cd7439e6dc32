{{- /* The manager looks for names that begin with it. */}}
{{- define "rescheduler.webhookName" -}}
rescheduler
{{- end }}

{{- /* Pods that are let through unseen: those that nobody replaces, and those whose node is chosen already. */}}
{{- define "rescheduler.podConditions" -}}
- name: has-a-controller
  expression: has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(r, has(r.controller) && r.controller && r.kind != 'DaemonSet' && r.kind != 'Node')
- name: has-no-node
  expression: "!has(object.spec.nodeName) || object.spec.nodeName == ''"
{{- end }}
