-- Prelude of scripts that hand out fencing tokens.
--
-- A token is higher than the lock's last one and any that the caller has seen, and not below Redis's time in
-- microseconds. Lua's numbers are exact below 2^53, which these tokens reach in the year 2255.
--
-- A lock leaves no key for long. Instead, one key for each slot, the high water, keeps the highest token of the slot's
-- locks for a day; it is raised before a token is handed out. So tokens rise even if a lock's key has expired and the
-- clock has gone back. If the high water is lost as well, they rise because the clock runs on, or because the caller
-- has seen a token.

-- cover raises the high water to a token, unless it is higher already.
--
-- key    the high water
-- high   its value, or false
-- token  number
local function cover(key, high, token)
  if tonumber(high or 0) < token then
    redis.call('SET', key, string.format('%.0f', token), 'EX', 86400)
  end
end

-- next_token returns the next token of a lock, as text, and raises the high water to it. If the lock's last token is
-- known, it raises the high water to the end of the token's 10 ms, so that a rush writes it once in that time
-- (mutex_take.lua checks whether a token is covered). 10 ms is at most half of the shortest lease, so tokens do not run
-- ahead of the clock when leases end without a release.
--
-- key, high  as in cover
-- last       the lock's last token, text; nil if unknown
-- floor      the highest token that the caller has seen, text
local function next_token(key, high, last, floor)
  local now = redis.call('TIME')
  local token = math.max(now[1] * 1000000 + now[2], tonumber(last or high or 0) + 1, tonumber(floor) + 1)
  cover(key, high, last and math.floor(token / 10000) * 10000 + 9999 or token)
  return string.format('%.0f', token)
end
