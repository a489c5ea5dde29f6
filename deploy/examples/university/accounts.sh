#!/bin/sh
# The groups of a university, once, on a new cluster, as an administrator. README.md says why it is cut so.
set -eu
add() { sacctmgr -i add "$@"; }

# What a job may ask for beside a partition. normal is there from the beginning.
add qos debug priority=100 description='trying a script out' maxwall=30:00 maxjobsperuser=2 maxtresperuser=cpu=128
add qos short priority=20 description='the limits of everybody in the partition short' maxtresperuser=cpu=512
add qos long priority=10 description='beyond three days' maxjobsperuser=4 grptres=cpu=1024
add qos paid priority=50 description='groups that bought nodes' grptres=gres/gpu=16
add qos teaching priority=30 description='courses' maxwall=4:00:00 maxtresperuser=gres/gpu=1,cpu=16 maxsubmitjobsperuser=20
sacctmgr -i modify qos normal set priority=20 maxsubmitjobsperuser=5000

# Faculties, by what they paid for; below them groups, by what the faculty has decided.
add account science     fairshare=50 organization=science     description='faculty of science'     qos=normal,debug,long
add account engineering fairshare=40 organization=engineering description='faculty of engineering' qos=normal,debug,long
add account teaching    fairshare=10 organization=teaching    description='courses of all faculties' qos=teaching,debug

add account physics   parent=science fairshare=60 organization=science description='department of physics'
add account chemistry parent=science fairshare=40 organization=science description='department of chemistry'
add account astro     parent=physics fairshare=2  organization=science description='astrophysics'
add account particle  parent=physics fairshare=1  organization=science description='particle physics'
add account mechanics parent=engineering fairshare=1 organization=engineering description='fluid mechanics'
add account vision    parent=engineering fairshare=1 organization=engineering description='computer vision'
add account ml101     parent=teaching fairshare=1 organization=teaching description='machine learning, first course' \
    grptres=gres/gpu=12

# Groups that bought GPU nodes have a QOS that the others have not.
sacctmgr -i modify account astro,vision set qos+=paid

# The GPU time that a group may use up at once, in GPU minutes of what runs: 16 GPUs for three days.
sacctmgr -i modify account chemistry,mechanics set grptresrunmins=gres/gpu=69120

# People. fairshare=parent: inside a group nobody is counted against the others.
add user alice account=astro fairshare=parent
add user bob   account=astro,chemistry defaultaccount=chemistry fairshare=parent
add user carol account=vision fairshare=parent
add user dave  account=mechanics fairshare=parent
add user erin,frank account=ml101 fairshare=1 defaultqos=teaching
# Who leads a group adds its people without asking an administrator.
add coordinator account=astro names=alice
