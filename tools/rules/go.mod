module github.com/holdfast-project/holdfast/tools/rules

go 1.26.0
