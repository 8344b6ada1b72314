-- Prelude of scripts of locks that may be held several times. After clock.lua.
--
-- The holds are a sorted set: for each one a member "request label owner" with the time at which its lease ends, in
-- milliseconds of Redis's clock, and a member "token n" with 0, the token of the present stay. No repetition of a
-- request can raise the number of holds; each has a lease of its own, which no other changes, and the key lives as long
-- as the longest. How many holds each reader has stands in a hash, owner → number, that lives as long.
--
-- No script touches more than 500 holds: those whose lease is over are removed in that many steps at most.
--
-- KEYS[8]  the readers' holds (readwrite.lua); none for locks without them
-- KEYS[9]  the number of holds of each reader

-- owner_in returns the owner who stands in a hold.
local function owner_in(hold)
  return string.match(hold, '^%S+ %S+ (.*)$')
end

-- owner_of returns who has a lock that one owner has at a time, nil when nobody has.
local function owner_of(key)
  local first = redis.call('ZRANGE', key, 1, 1)[1]
  return first and owner_in(first)
end

-- token_of returns the token of the present stay, nil when nobody has the lock.
local function token_of(key)
  local first = redis.call('ZRANGE', key, 0, 0)[1]
  return first and string.match(first, '^token (%d+)$')
end

-- holding reports whether there is such a hold, and its lease is not over.
local function holding(key, hold, now)
  local over = redis.call('ZSCORE', key, hold)
  return over and tonumber(over) > now
end

-- take adds a hold until the given time, or moves its end, in a stay that has the token.
local function take(key, token, hold, over)
  if key == KEYS[8] and not redis.call('ZSCORE', key, hold) then
    redis.call('HINCRBY', KEYS[9], owner_in(hold), 1)
  end
  redis.call('ZADD', key, 0, 'token ' .. token, whole(over), hold)
end

-- drop ends a hold.
local function drop(key, hold)
  if redis.call('ZREM', key, hold) == 1 and key == KEYS[8] then
    if redis.call('HINCRBY', KEYS[9], owner_in(hold), -1) <= 0 then
      redis.call('HDEL', KEYS[9], owner_in(hold))
    end
  end
end

-- settle removes holds whose lease is over, and sets the time to live. It returns whether holds are left, and whether
-- there are more to be removed. With none left nothing is.
local function settle(key, now)
  local over = redis.call('ZRANGEBYSCORE', key, 1, whole(now), 'LIMIT', 0, 500)
  for _, hold in ipairs(over) do
    drop(key, hold)
  end
  local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
  if not last[2] or tonumber(last[2]) <= now then
    redis.call('UNLINK', key)
    if key == KEYS[8] then
      redis.call('UNLINK', KEYS[9])
    end
    return false, false
  end
  redis.call('PEXPIRE', key, whole(last[2] - now))
  if key == KEYS[8] then
    redis.call('PEXPIRE', KEYS[9], whole(last[2] - now))
  end
  return true, #over == 500
end
