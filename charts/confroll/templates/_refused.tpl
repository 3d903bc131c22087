{{/* Values of Reloader's chart that mean nothing here, each with what to do. */}}
{{- define "confroll.refused" -}}
{{- $why := dict
  "reloader" "values are not nested here: write what stands under reloader: (and under reloader.deployment:) at the top"
  "enableHA" "replicas work side by side without a leader; leave it out"
  "enablePProf" "there is no profiler to reach; leave it out"
  "pprofAddr" "there is no profiler to reach; leave it out"
  "syncAfterRestart" "what changed while nothing ran is always found; leave it out"
  "isArgoRollouts" "Argo Rollouts are rolled out where they are installed; leave it out"
  "isOpenshift" "it runs on OpenShift as it is, and rolls out DeploymentConfigs where there are any; leave it out"
  "readOnlyRootFileSystem" "the file system is always read-only; leave it out"
  "webhookUrl" "its text names no workload; use alerts (a chat service) or sink (CloudEvents)"
  "deployment" "write what stands under deployment: at the top (replicas, resources, nodeSelector, …)"
  "verticalPodAutoscaler" "make one beside the chart; its memory does not grow with the cluster"
  "service" "nothing calls it but scrapers: see podMonitor"
  "global" "write imagePullSecrets at the top"
-}}
{{- range $name, $sentence := $why -}}
{{- if and (hasKey $.Values $name) (not (kindIs "invalid" (index $.Values $name))) -}}
{{- if not (and (eq $name "global") (empty (index $.Values $name))) -}}
{{- fail (printf "the value %s has no meaning to Confroll: %s" $name $sentence) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (not .Values.watchGlobally) .Values.namespaceSelector -}}
{{- fail "the value namespaceSelector needs watchGlobally: true, as the labels of all namespaces are read for it" -}}
{{- end -}}
{{- if and .Values.watchGlobally .Values.namespaces -}}
{{- fail "the value namespaces needs watchGlobally: false; with true, all namespaces are looked at" -}}
{{- end -}}
{{- if and .Values.alerts.enabled (not .Values.alerts.secretName) -}}
{{- fail "the value alerts.secretName is not set, though alerts.enabled is true: name a Secret with the webhook's URL" -}}
{{- end -}}
{{- end -}}
