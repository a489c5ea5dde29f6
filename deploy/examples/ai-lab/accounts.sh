#!/bin/sh
# The teams of the lab, once, on a new cluster, as an administrator. README.md says why it is cut so.
set -eu
add() { sacctmgr -i add "$@"; }

# What may be preempted, and costs its team nothing. A job has two minutes to write its checkpoint.
add qos scavenge priority=1 description='what is left, until it is wanted' usagefactor=0 gracetime=120 \
    maxsubmitjobsperuser=200
# Notebooks: two GPUs each, for a working day.
add qos dev priority=500 description='first tries' maxtresperuser=gres/gpu=2 maxwall=8:00:00 maxjobsperuser=4
# A team's guaranteed GPUs: together 112, which are the nodes of train. They take them back from scavenge.
add qos pretrain priority=1000 description='64 GPUs, guaranteed' grptres=gres/gpu=64 preempt=scavenge
add qos research priority=1000 description='32 GPUs, guaranteed' grptres=gres/gpu=32 maxtresperuser=gres/gpu=16 \
    preempt=scavenge
add qos product  priority=1000 description='16 GPUs, guaranteed' grptres=gres/gpu=16 preempt=scavenge
add qos eval     priority=1000 description='the evaluation of releases'

# Every team has its own guarantee, and dev and scavenge beside it.
add account pretrain fairshare=4 description='large training runs' qos=pretrain,dev,scavenge defaultqos=pretrain
add account research fairshare=2 description='research'            qos=research,dev,scavenge defaultqos=research
add account product  fairshare=1 description='product'             qos=product,dev,scavenge  defaultqos=product
add account eval     fairshare=1 description='evaluation'          qos=eval                  defaultqos=eval

add user ada,grace account=pretrain
add user alan account=research,eval defaultaccount=research
add user edsger account=research
add user barbara account=product,eval defaultaccount=product
