module confroll.test/argo

go 1.26.0

require github.com/argoproj/argo-rollouts v1.9.2
