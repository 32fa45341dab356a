# Writes the values of stats_test.go with scipy 1.10: python3 goldens.py >goldens.json
import numpy as np, json, math
from scipy import stats as S, special as P
out={}
def tppf(p,f): # t.ppf of this version is exact to 1e-9 only
    if p<.5: return -tppf(1-p,f)
    x=P.betaincinv(f/2,.5,2*(1-p)); return math.sqrt(f*(1/x-1))
v=[0.25,1,0.5,0.75,1,0,0.5,1,0.25,0.75]
a=np.array(v); n=len(a); m=a.mean(); h=tppf(.975,n-1)*a.std(ddof=1)/math.sqrt(n)
out['values']=v; out['t']=[m-h,m+h]
r=S.binomtest(7,10).proportion_ci(method='wilson'); out['wilson']=[r.low,r.high]
out['tq']=[[p,f,float(tppf(p,f))] for p,f in [(.975,1),(.975,9),(.8,29),(.05,4),(.999,120)]]
out['nq']=[[p,float(S.norm.ppf(p))] for p in (.001,.2,.5,.975)]
d=[0.5,-0.25,0.75,0.25,0,0.5,0.25,-0.5,1,0.25]
out['d']=d
out['perm']=float(S.permutation_test((np.array(d),), lambda x,axis: x.mean(axis=axis), permutation_type='samples', n_resamples=np.inf, vectorized=True).pvalue)
out['mde']=float((tppf(.975,9)+tppf(.8,9))*np.std(d,ddof=1)/math.sqrt(10))
rng=np.random.default_rng(1); bs=np.array([rng.choice(a,n).mean() for _ in range(200)])
from scipy.stats import _resampling as R
out['bs']=bs.tolist()
# scipy itself
low,high=R._bca_interval((a,),np.mean,axis=-1,alpha=.025,theta_hat_b=bs,batch=None)[:2] # the percentiles, by scipy itself
out['bca']=[float(np.percentile(bs,100*low)),float(np.percentile(bs,100*high))]
def rate(v): # Korn and Graubard
    a=np.array(v); n=len(a); p=a.mean(); d=a.std(ddof=1); e=n
    if d>0: e=min(n,p*(1-p)/(d*d/n)*(S.norm.ppf(.975)/tppf(.975,n-1))**2)
    x=p*e; return [0. if x==0 else float(P.betaincinv(x,e-x+1,.025)), 1. if x==e else float(P.betaincinv(x+1,e-x,.975))]
out['rates']=[v,[1.]*12,[0.]*3,[1.,0.75]+[1.]*10]; out['rateintervals']=[rate(r) for r in out['rates']]
ps=[0.04,0.01,0.03,0.005,0.5]; o=np.argsort(ps); h=np.empty(5); h[o]=np.maximum.accumulate(np.minimum(1,np.array(ps)[o]*np.arange(5,0,-1)))
out['ps']=ps; out['holm']=h.tolist()
def C(n,k): return math.comb(n,k)
ts=[[3,4],[0,4],[4,4],[1,5]]
out['tallies']=ts
out['passat2']=np.mean([1-C(n-c,2)/C(n,2) for c,n in ts]); out['passall2']=np.mean([C(c,2)/C(n,2) for c,n in ts])
print(json.dumps(out))
