-- join.go: a living instance.

local function isStale(held, call)
  if held == nil then
    return false
  end
  return (held.id == call.id and held.dead) or (held.id ~= call.id and call.born < held.born)
end

local function replacedBy(slot, newPod)
  return { slot = slot, kind = newPod and 'pod' or 'replaced', exitCode = 0, failedAt = 0, detectedAt = 0 }
end

function Group:join(call, now)
  local held, newPod = self:admit(call)
  if self:leaving() or (not newPod and isStale(held, call)) then
    return self:reply(call.slot)
  end
  if self:wentBack(call.seen) then
    self:recover()
  end
  if not newPod and self:hasJoined(held, call) then
    return self:reply(call.slot)
  end
  if newPod then
    self:fence(held.pod)
  end
  self:take(call, held, newPod, now)
  self:settle(now)
  return self:reply(call.slot)
end

-- hasJoined tells whether a join is a repetition.
function Group:hasJoined(held, call)
  return held ~= nil and held.id == call.id and held.generation == self.gen
end

-- take puts a new instance into its slot, by phase.
function Group:take(call, held, newPod, now)
  local failure = replacedBy(call.slot, newPod)
  local wasCurrent = self:current(held)
  local wasLive = held ~= nil and not held.dead
  self:vacate(held)
  if self.phase == Running then
    self:openRound(failure, now)
  elseif self.phase == Recovering then
    if wasCurrent then
      self:hurt(failure)
    end
    self:see(call.seen, failure)
  elseif self.phase == Forming or self.phase == Restarting then
    if wasCurrent and wasLive then
      self:soil(failure)
    end
  end
  if wasLive and held.round < self.round then
    self:countDown(now)
  end
  self.slots[call.slot] = {
    pod = call.pod, podBorn = call.podBorn, id = call.id, born = call.born,
    round = self:roundOf(call.seen), generation = self.gen, dead = false, finished = false,
  }
  self:countUp(now)
end

-- roundOf is the round a joining instance belongs to.
function Group:roundOf(seen)
  if self.phase ~= Recovering then
    return self.round
  end
  return self:known(seen)
end

-- vacate takes a slot's former instance out of the counts; a new pod in a finished slot is finished no more.
function Group:vacate(held)
  if held == nil then
    return
  end
  if self:counted(held) then
    self.joined = self.joined - 1
  end
  if held.finished then
    held.finished = false
    self.done = self.done - 1
  end
end

-- countUp accounts for a new instance of the desired round.
function Group:countUp(now)
  self.joined = self.joined + 1
  if self.phase == Forming or self.phase == Restarting then
    self.ups = self.ups + 1
    self.lastUpAt = now
  end
end

-- countDown accounts for the end of an instance of the old round.
function Group:countDown(now)
  if self.phase == Restarting then
    self.downs = self.downs + 1
    self.lastDownAt = now
  end
end
