-- Prelude of scripts of locks that many owners may have at a time: what holds.lua is for one owner. After clock.lua.
--
-- The lock is a sorted set: for each hold a member "request owner" with the time at which its lease ends, in
-- milliseconds of Redis's clock, and a member "token n" with 0. All who share it have the token of their stay. Each
-- hold has a lease of its own, which nobody else's changes, and the key lives as long as the longest.
--
-- KEYS[7]  the writer's holds (readwrite.lua)

-- token_of returns the token of the present stay, which may be that of the writer who reads; false when there is none.
local function token_of(key)
  local first = redis.call('ZRANGE', key, 0, 0)[1]
  return first and string.match(first, '^token (%d+)$') or redis.call('HGET', KEYS[7], 'token')
end

-- holding reports whether the request is a hold of the owner whose lease is not over.
local function holding(key, owner, request, now)
  local over = redis.call('ZSCORE', key, request .. ' ' .. owner)
  return over and tonumber(over) > now
end

-- take gives the owner a hold until the given time, in a stay that has the token.
local function take(key, owner, token, request, over)
  redis.call('ZADD', key, 0, 'token ' .. token, whole(over), request .. ' ' .. owner)
end

-- drop ends a hold of the owner.
local function drop(key, owner, request)
  redis.call('ZREM', key, request .. ' ' .. owner)
end

-- settle removes holds whose lease is over, sets the key's time to live, and returns how many holds are left. With
-- none the key is gone.
local function settle(key, now)
  redis.call('ZREMRANGEBYSCORE', key, 1, whole(now))
  local left = redis.call('ZCARD', key) - 1
  if left == 0 then
    redis.call('DEL', key)
  else
    local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
    redis.call('PEXPIRE', key, whole(last[2] - now))
  end
  return left
end
