{{/* What `confroll watch` may do. A test compares it with the table of kinds, and takes each right away in turn. */}}
{{- define "confroll.rules" -}}
- apiGroups: [""]
  resources: [configmaps, secrets]
  verbs: [get, list, watch]
{{- if .Values.enableCSIIntegration }}
- apiGroups: [secrets-store.csi.x-k8s.io]
  resources: [secretproviderclasses]
  verbs: [get, list]
- apiGroups: [secrets-store.csi.x-k8s.io]
  resources: [secretproviderclasspodstatuses]
  verbs: [list, watch]
{{- end }}
- apiGroups: [apps]
  resources: [deployments, statefulsets, daemonsets]
  verbs: [get, list, patch]
- apiGroups: [batch]
  resources: [cronjobs]
  verbs: [get, list, patch]
# A CronJob is rolled out by a Job; a Job is deleted and made again.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, patch, create, delete]
- apiGroups: [argoproj.io]
  resources: [rollouts]
  verbs: [get, list, patch]
- apiGroups: [apps.openshift.io]
  resources: [deploymentconfigs]
  verbs: [get, list, patch]
- apiGroups: [serving.knative.dev]
  resources: [services]
  verbs: [get, list, patch]
{{- if .Values.kubernetesEvents }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end }}
{{- if .Values.namespaceSelector }}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get, list]
{{- end }}
{{- with .Values.rbac.extraRules }}
{{ toYaml . }}
{{- end }}
{{- end -}}
