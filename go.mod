module github.com/nebis-dev/nebis

go 1.25.0
